-- The server for `vim.lsp.enable("dlsp")` (Neovim 0.11 and newer), for those who configure their servers there.
return {
  cmd = require("dlsp.config").cmd() or { "dlsp", "serve", "--stdio" },
  root_markers = { ".git", "pyproject.toml", "package.json", "go.mod", "Cargo.toml" },
  handlers = require("dlsp.client").handlers,
  commands = require("dlsp.client").commands,
  reuse_client = require("dlsp.client").is_ours, -- as the plugin does: one server is enough for all folders
  init_options = require("dlsp.config").get().settings,
}
