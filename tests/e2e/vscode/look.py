"""Scripts that read in VS Code's page what its user sees."""

# The ghost text of the active editor, its lines one under the other, the empty ones too. The first is drawn apart from
# the others, a frame earlier or later: they are read until a frame makes no difference.
GHOST = """
async () => {
  const editor = '.editor-group-container.active ';
  const text = (line) => [...line.querySelectorAll('[class*="ghost-text"]')]
    .filter((each) => !each.querySelector('[class*="ghost-text"]'))
    .map((each) => each.textContent.replaceAll('\\u00a0', ' ')).join('');
  const read = () => {
    const first = [...document.querySelectorAll(editor + '.view-lines .view-line')].map(text).join('');
    const below = [...document.querySelectorAll(editor + '.view-zones .suggest-preview-text .view-line')].map(text);
    return [first, ...below].join('\\n');
  };
  for (;;) {
    const seen = read();
    if (!seen) return '';
    await new Promise(requestAnimationFrame);
    if (read() === seen) return seen;
  }
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
