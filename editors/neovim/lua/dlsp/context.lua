-- `:Dlsp context`: the prompt that the model would get at the cursor.
local client = require("dlsp.client")
local config = require("dlsp.config")

local M = {}

---@param open fun(lines: string[], filetype: string)
function M.show(open)
  local buf = vim.api.nvim_get_current_buf()
  if not client.is_file(buf) then
    return vim.notify("dlsp: only a file has a context.", vim.log.levels.INFO)
  end
  if vim.bo[buf].modified then
    return vim.notify("dlsp: save the file first; its context is made of what is saved.", vim.log.levels.WARN)
  end
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local column = vim.fn.strchars(vim.api.nvim_get_current_line():sub(1, col)) + 1
  local place = ("%s:%d:%d"):format(vim.api.nvim_buf_get_name(buf), row, column)
  local function none(why)
    vim.notify("dlsp: no context to show: " .. why, vim.log.levels.WARN)
  end
  local command, options = config.command("context", place), { text = true, timeout = 30000 }
  local ok, why = pcall(vim.system, command, options, function(done)
    vim.schedule(function()
      if done.code ~= 0 then
        return none((vim.trim(done.stderr or ""):match("[^\n]*$"):gsub("^dlsp: ", "")))
      end
      open(vim.split(("# %s\n\n%s"):format(place, done.stdout), "\n"), "")
    end)
  end)
  if not ok then
    none(why)
  end
end

return M
