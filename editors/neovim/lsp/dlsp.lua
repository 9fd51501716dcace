-- The server for `vim.lsp.enable("dlsp")` (Neovim 0.11 and newer), for those who configure their servers there.
local client = require("dlsp.client")

return vim.tbl_extend("error", client.options(), {
  root_markers = client.ROOTS,
  reuse_client = client.is_ours, -- as the plugin does: one server is enough for all folders
})
