import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** The demo server puts what is built here at /checkout; it needs nothing from anywhere else. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/checkout/',
  build: {
    outDir: '../../dist/checkout',
    emptyOutDir: true,
    assetsDir: 'assets',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
