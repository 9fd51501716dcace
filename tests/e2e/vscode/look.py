"""Scripts that read in VS Code's page what its user sees."""

# The ghost text of the active editor, its lines one under the other.
GHOST = """
() => {
  const spans = [...document.querySelectorAll('.editor-group-container.active [class*="ghost-text"]')]
    .filter((each) => each.offsetParent !== null && !each.querySelector('[class*="ghost-text"]'));
  const lines = new Map();
  for (const each of spans) {
    const line = each.closest('.view-line') ?? each.parentElement;
    lines.set(line, (lines.get(line) ?? '') + each.textContent.replaceAll('\\u00a0', ' '));
  }
  const top = (line) => line.getBoundingClientRect().top;
  return [...lines].sort(([a], [b]) => top(a) - top(b)).map(([, text]) => text).join('\\n');
}
"""
# The lines that are drawn in the editor, ghost text and decorations included.
LINES = """
() => [...document.querySelectorAll('.editor-group-container.active .view-lines .view-line')]
  .sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top))
  .map((each) => each.textContent.replaceAll('\\u00a0', ' '))
"""
# What decorations draw behind text.
AFTER = """
() => [...document.querySelectorAll('.editor-group-container.active .view-line [class*="ced-"]')]
  .map((each) => getComputedStyle(each, '::after').content).filter((text) => text !== 'none').join('')
"""
# The icon's name and the sentence of the status bar item.
STATUS = """
() => {
  const item = document.querySelector('.statusbar-item[id="dlsp.dlsp.dlsp"], .statusbar-item[id*="dlsp"]');
  if (!item) return ['', ''];
  const icon = item.querySelector('.codicon');
  const classes = [...(icon?.classList ?? [])];
  const name = classes.find((each) => each.startsWith('codicon-') && !each.includes('modifier'));
  const label = item.querySelector('[aria-label]')?.ariaLabel ?? item.ariaLabel;
  return [name?.slice('codicon-'.length) ?? '', label ?? ''];
}
"""
# The texts of all elements of a kind.
TEXTS = "(selector) => [...document.querySelectorAll(selector)].map((each) => each.textContent)"
# The name of the active editor's file.
ACTIVE = "() => document.querySelector('.tab.active')?.dataset.resourceName ?? ''"
