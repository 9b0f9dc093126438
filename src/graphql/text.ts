/**
 * The separators that people put between the groups of a card number, what cannot be seen, and others
 * where they stand between groups of four and more digits: coordinates and decimals have none.
 */
const SEPARATOR = '(?:[\\s\\-\\u2010-\\u2015\\u200b-\\u200d\\u2060]|(?<=\\d{4})[._/,](?=\\d{4}))';
const UUID = /(?<!\d)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?!\d)/gi;
/** A UUID without dashes or a digest (MD5, SHA-1, SHA-256), standing by itself. */
const HEX_NAME = /(?<![0-9a-z])(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})(?![0-9a-z])/gi;
const DIGIT_RUN = new RegExp(`\\d(?:${SEPARATOR}*\\d){12,}`, 'g');
const SEPARATORS = new RegExp(`${SEPARATOR}+`);
const CARD_DIGITS = { least: 13, most: 19 } as const;
/** A time in ms (until 2033). Cards of 13 digits never began with 1. */
const TIME_MS = /^1\d{12}$/;
/** C0, DEL and C1. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are refused
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** What is wrong with a text from outside, or undefined. Never repeats the text. */
export function textProblem(text: string): string | undefined {
  if (CONTROL.test(text)) return 'must not contain NUL or other control characters';
  if (LONE_SURROGATE.test(text)) return 'must be well-formed Unicode (it has a lone surrogate)';
  if (holdsCardNumber(text)) return 'must not contain a card number';
  return undefined;
}

/**
 * True if 13 to 19 digits in a row pass the Luhn check (ISO/IEC 7812-1, annex B), whether they are
 * written together or in groups. The digits of a UUID, a digest or a time in ms are none, whatever they
 * add up to.
 */
export function holdsCardNumber(text: string): boolean {
  return cardNumberRuns(text).length > 0;
}

/**
 * What is wrong with a number from outside that is no amount, or undefined. A whole number beyond
 * 2^53 is another one when it is read: of a long card number the last digits would change.
 */
export function numberProblem(number: number): string | undefined {
  if (!Number.isInteger(number) || Math.abs(number) >= 10 ** CARD_DIGITS.most) return undefined;
  if (!Number.isSafeInteger(number)) return 'must not contain a whole number beyond 2^53';
  return holdsCardNumber(String(number)) ? 'must not contain a card number' : undefined;
}

/** The text with every run of digits that holds a card number taken out. */
export function withoutCardNumbers(text: string): string {
  const runs = cardNumberRuns(text);
  if (runs.length === 0) return text;
  return runs.reduce((rest, run) => rest.replaceAll(run, '[redacted]'), text.normalize('NFKC'));
}

function cardNumberRuns(text: string): readonly string[] {
  if (!/\d/.test(text.normalize('NFKC'))) return [];
  const plain = text.normalize('NFKC').replace(UUID, 'uuid').replace(HEX_NAME, 'hex');
  return (plain.match(DIGIT_RUN) ?? []).filter(someGroupsAreCard);
}

/** Looks at every sequence of whole groups, so that a number beside a card number hides nothing. */
function someGroupsAreCard(run: string): boolean {
  const groups = run.split(SEPARATORS);
  return groups.some((_, start) => {
    let digits = '';
    for (const group of groups.slice(start)) {
      digits += group;
      if (digits.length > CARD_DIGITS.most) return false;
      const long = digits.length >= CARD_DIGITS.least && !TIME_MS.test(digits);
      if (long && passesLuhn(digits)) return true;
    }
    return false;
  });
}

function passesLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
