-- Neovim 0.12's own client for inline completion, for those who ask for it by `native = true`.
local client = require("dlsp.client")
local compat = require("dlsp.compat")
local config = require("dlsp.config")

local M = {}

---Switch it on for the server.
---@param id integer the client's
function M.attach(id)
  local server = vim.lsp.get_client_by_id(id)
  if config.get().native and vim.lsp.inline_completion and server and server.name == client.NAME then
    vim.lsp.inline_completion.enable(true, { client_id = id })
    M.pause(require("dlsp.switch").minutes())
  end
end

---It was switched off for some minutes, or on (0). Neovim goes on asking, so the server is told to answer nothing.
---@param minutes number
function M.pause(minutes)
  for _, server in ipairs(config.get().native and vim.lsp.get_clients({ name = client.NAME }) or {}) do
    local params = { command = "dlsp.snooze", arguments = { minutes } }
    compat.call(server, "request", "workspace/executeCommand", params, function() end)
  end
end

---Accept what it shows. Text that was typed since the answer came is kept once; Neovim 0.12 alone keeps it twice, and
---the closing brackets and quotes that the suggestion replaces as well.
---@return boolean whether there was anything
function M.accept()
  if not (config.get().native and vim.lsp.inline_completion) then
    return false
  end
  return vim.lsp.inline_completion.get({
    on_accept = function(item)
      local range = item.range
      if not range or type(item.insert_text) ~= "string" then
        return item
      end
      local row, col, end_row, end_col = range:to_extmark()
      local cursor = vim.api.nvim_win_get_cursor(0)
      if cursor[1] - 1 ~= row or end_row ~= row or cursor[2] <= col then
        return item
      end
      local line = vim.api.nvim_get_current_line()
      local typed = line:sub(col + 1, cursor[2])
      if item.insert_text:sub(1, #typed) == typed then
        local rest, after = item.insert_text:sub(#typed + 1), line:sub(cursor[2] + 1, cursor[2] + end_col - col)
        require("dlsp.suggest").insert(rest, require("dlsp.parts").closed(rest, after))
      end
    end,
  })
end

return M
