-- dlsp for Neovim. Everything a user may call.
local M = {}

---Use dlsp in a buffer, if it is a file.
---@param buf integer
function M.attach(buf)
  local client = require("dlsp.client")
  if vim.api.nvim_buf_is_loaded(buf) and client.is_file(buf) then
    require("dlsp.watch").start()
    client.start(buf)
  end
end

---The same once the events of now are over, which may say what the buffer is.
---@param buf integer
function M.open(buf)
  vim.schedule(function()
    M.attach(buf)
  end)
end

---Use dlsp in a buffer no longer.
---@param buf integer
function M.close(buf)
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf, name = "dlsp" })) do
    vim.lsp.buf_detach_client(buf, client.id)
  end
end

---Settings, for those who like to call a function; the same as setting `vim.g.dlsp`.
---@param settings table
function M.setup(settings)
  vim.g.dlsp = settings
  require("dlsp.client").configure()
end

---Accept what is suggested, or a part of it.
---@param part "all"|"word"|"line"
---@return boolean whether there was anything
function M.accept(part)
  return require("dlsp.preview").accept() or require("dlsp.suggest").accept(part)
end

---Show the next suggestion of several, or the previous one.
---@param step 1|-1
function M.cycle(step)
  require("dlsp.suggest").cycle(step)
end

---Take away what is suggested.
---@return boolean whether there was anything
function M.dismiss()
  return require("dlsp.preview").stop() or require("dlsp.suggest").dismiss() or require("dlsp.edits").dismiss()
end

---Fill in the function at the cursor.
function M.fill()
  require("dlsp.fill").start()
end

---Change lines by an instruction; it is asked for where it is not given. By default, the cursor's line.
---@param instruction string?
---@param first integer? from 1
---@param last integer?
function M.instruct(instruction, first, last)
  local row = vim.api.nvim_win_get_cursor(0)[1]
  require("dlsp.instruct").start(first or row, last or first or row, instruction)
end

---Go to the next place that should follow an edit.
function M.next_edit()
  require("dlsp.edits").next()
end

---Change the place at the cursor as the edit was.
---@return boolean whether there is a place
function M.accept_edit()
  return require("dlsp.edits").accept()
end

---Change all places, one undo step in each buffer; asks first where some are in other files.
---@return boolean whether there is a place
function M.accept_edits()
  return require("dlsp.edits").accept_all()
end

---Whether something is shown that can be accepted.
---@return boolean
function M.visible()
  return require("dlsp.preview").ready() or require("dlsp.suggest").visible()
end

---A few characters for a statusline.
---@return string
function M.statusline()
  return require("dlsp.status").line()
end

return M
