import { useEffect, useRef, useState } from 'preact/hooks';
import { makeUseIntent, type UseIntent } from './use-intent.ts';

/** One intent on a page, for Preact 10 and newer. */
export const useIntent: UseIntent = makeUseIntent({ useEffect, useRef, useState });
