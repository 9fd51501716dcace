// The first part of a name, or the first block, of a suggestion: what VS Code itself cannot accept. And the closing
// brackets and quotes behind the cursor that a part has.

/** `part`: of a name in camelCase or snake_case, `parse`, `HTTP` and `Response`, or `max` and `_length`. `block`: the
 * lines up to the next blank one. */
export type Part = "part" | "block";

const NAME_PART = String.raw`_*(?:\p{N}+|\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lu}+)`;
const FIRST: Record<Part, RegExp> = {
  part: new RegExp(String.raw`^\s*(?:${NAME_PART}|[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]+)`, "u"),
  block: /^\n*[^\n]*(?:\n[ \t]*[^ \t\n][^\n]*)*/,
};

/** Not empty unless `text` is; its lines are parted by "\n". */
export function first(text: string, part: Part): string {
  return FIRST[part].exec(text)?.[0] || text;
}

const CLOSES: Record<string, string> = { "(": ")", "[": "]", "{": "}", '"': '"', "'": "'", "`": "`" };
const QUOTES = ['"', "'", "`"];

/** How many characters of `after`, the text behind the cursor, are in `text` too: closers that it has not opened
 * itself. */
export function closed(text: string, after: string): number {
  const open: string[] = [];
  let count = 0;
  for (const char of text.replace(/\\./g, "")) {
    const [last, wanted] = [open.at(-1) ?? "", after[count] ?? ""];
    const inString = QUOTES.includes(wanted); // all up to this quote belongs to the string that the cursor was in
    if (char === wanted && (inString || open.length === 0)) {
      count += 1;
    } else if (!inString && char === last) {
      open.pop();
    } else if (!inString && CLOSES[char] && !QUOTES.includes(last)) {
      open.push(CLOSES[char]);
    }
  }
  return count;
}
