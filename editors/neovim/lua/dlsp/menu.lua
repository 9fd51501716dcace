-- When suggestions stand back: something else has the keys or the text.
local M = {}

local block = false

---Whether a completion menu is open, Neovim's own or that of a well-known plugin.
---@return boolean
function M.open()
  if vim.fn.pumvisible() == 1 then
    return true
  end
  local cmp, blink = package.loaded["cmp"], package.loaded["blink.cmp"]
  return (cmp and cmp.visible and cmp.visible() or blink and blink.is_menu_visible and blink.is_menu_visible()) or false
end

---Remember whether insert mode was entered for a block of lines.
---@param old string the mode before
---@param new string the mode now
function M.mode_changed(old, new)
  if new:sub(1, 1) == "i" then
    block = block or old == "\22"
  elseif new ~= "niI" then
    block = false
  end
end

---Whether what is typed goes to one place only, by hand.
---@return boolean
function M.one_cursor()
  local macro = vim.fn.reg_recording() ~= "" or vim.fn.reg_executing() ~= ""
  return not (macro or block or vim.b.visual_multi ~= nil)
end

return M
