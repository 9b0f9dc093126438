import { useEffect, useRef, useState } from 'react';
import { makeUseIntent, type UseIntent } from './use-intent.ts';

/** One intent on a page, for React 18 and newer. */
export const useIntent: UseIntent = makeUseIntent({ useEffect, useRef, useState });
