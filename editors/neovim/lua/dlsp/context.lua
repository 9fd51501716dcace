-- `:Dlsp context`: what the model would see at the cursor.
local client = require("dlsp.client")
local config = require("dlsp.config")

local M = {}

---@param open fun(lines: string[], filetype: string)
function M.show(open)
  local buf = vim.api.nvim_get_current_buf()
  local cmd = config.cmd()
  if not (cmd and client.is_file(buf)) then
    return vim.notify("dlsp: only a file has a context.", vim.log.levels.INFO)
  end
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local column = vim.fn.strchars(vim.api.nvim_get_current_line():sub(1, col)) + 1
  local place = ("%s:%d:%d"):format(vim.api.nvim_buf_get_name(buf), row, column)
  local saved = vim.bo[buf].modified and "as the file was saved last" or "as the file is"
  vim.system({ cmd[1], "context", place }, { text = true, timeout = 30000 }, function(done)
    vim.schedule(function()
      if done.code ~= 0 then
        local why = vim.trim(done.stderr or ""):match("[^\n]*$")
        return vim.notify("dlsp: no context to show: " .. why, vim.log.levels.WARN)
      end
      open(vim.split(("# %s, %s\n\n%s"):format(place, saved, done.stdout), "\n"), "")
    end)
  end)
end

return M
