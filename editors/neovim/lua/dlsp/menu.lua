-- When no suggestion is shown: a completion menu is open, a macro runs, or several lines are typed at once.
local M = {}

local block = false
local followed ---@type table? nvim-cmp, once it is listened to
local changed = function() end ---@type fun(open: boolean)

---Call `call` when the menu of nvim-cmp or blink.cmp opens or closes, which no event of Neovim's own tells.
---@param call fun(open: boolean)
function M.follow(call)
  changed = vim.schedule_wrap(call)
  for pattern, open in pairs({ BlinkCmpMenuOpen = true, BlinkCmpMenuClose = false }) do
    vim.api.nvim_create_autocmd("User", {
      group = vim.api.nvim_create_augroup("dlsp." .. pattern, {}),
      pattern = pattern,
      callback = function()
        changed(open)
      end,
    })
  end
end

---@param cmp table nvim-cmp, which may be loaded at any time
local function listen(cmp)
  if followed ~= cmp and cmp.event then
    followed = cmp
    for event, open in pairs({ menu_opened = true, menu_closed = false }) do
      cmp.event:on(event, function()
        changed(open)
      end)
    end
  end
end

---Whether a completion menu is open, Neovim's own or that of a well-known plugin.
---@return boolean
function M.open()
  if vim.fn.pumvisible() == 1 then
    return true
  end
  local cmp, blink = package.loaded["cmp"], package.loaded["blink.cmp"]
  if cmp then
    listen(cmp)
  end
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

---Whether one cursor types, by hand: no macro, no block of lines, no vim-visual-multi.
---@return boolean
function M.one_cursor()
  local macro = vim.fn.reg_recording() ~= "" or vim.fn.reg_executing() ~= ""
  return not (macro or block or vim.b.visual_multi ~= nil)
end

return M
