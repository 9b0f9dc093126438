import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** The server puts what is built here at /playground; it needs nothing from anywhere else. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/playground/',
  build: {
    outDir: '../../dist/playground',
    emptyOutDir: true,
    assetsDir: 'assets',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // What GraphiQL is made of says "use client", which means nothing here.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
    // The editor is one large piece that is fetched once and kept.
    chunkSizeWarningLimit: 3_000,
  },
});
