-- Fill in a whole function: its body comes into focus under its definition.
local client = require("dlsp.client")
local preview = require("dlsp.preview")

local M = {}

---Fill in the function at the cursor, or the lines of a range.
---@param range lsp.Range?
function M.start(range)
  local server = client.of(0)
  local params = vim.lsp.util.make_position_params(0, server and server.offset_encoding or "utf-8")
  if range then
    params.position, params.range = range.start, range
  end
  preview.start({
    method = "dlsp/fill",
    params = params,
    working = "filling in the function",
    unknown = "this server cannot fill functions; update dlsp.",
    nothing = "nothing to fill in here.",
  })
end

return M
