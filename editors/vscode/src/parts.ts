// The first part of a name, or the first block, of a suggestion: what VS Code itself cannot accept.

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
