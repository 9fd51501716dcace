-- Insert mode keys. Where there is no suggestion for a key to act on, it does what it did before it was mapped.
local M = {}

local jumps = false -- the accept key had a mapping before, such as Neovim 0.11's own, which jumps in snippets

---Whether the cursor is in a snippet, of Neovim or of LuaSnip, that has a next place.
---@return boolean
local function in_snippet()
  local luasnip = package.loaded["luasnip"]
  return vim.snippet.active({ direction = 1 }) or luasnip and luasnip.locally_jumpable(1) or false
end

---@type table<string, fun(): boolean> whether an action has something to do; else the key is somebody else's
local WANTED = {
  accept = function()
    -- In a snippet Tab jumps to the next place, as it did before.
    return require("dlsp").visible() and not (jumps and in_snippet())
  end,
  ["accept-word"] = function()
    return require("dlsp.suggest").visible()
  end,
  dismiss = function()
    return require("dlsp").visible()
  end,
}
for _, action in ipairs({ "accept-part", "accept-line", "accept-block" }) do
  WANTED[action] = WANTED["accept-word"]
end
for _, action in ipairs({ "next", "previous" }) do
  WANTED[action] = function()
    local suggest = require("dlsp.suggest")
    return suggest.visible() or suggest.hidden()
  end
end

---The global insert mode mapping of a key, nil if it has none.
---@param lhs string
---@return table<string, any>?
function M.mapping(lhs)
  local raw = vim.keycode(lhs)
  for _, mapping in ipairs(vim.api.nvim_get_keymap("i")) do
    if vim.keycode(mapping.lhs) == raw then -- Neovim 0.10 has another `lhsraw` for <C-]>
      return mapping
    end
  end
end

---@param action string
---@param lhs string
local function set(action, lhs)
  local plug, otherwise = "<Plug>(dlsp-" .. action .. ")", lhs -- unmapped, it also ends an abbreviation
  local before = M.mapping(lhs)
  jumps = jumps or action == "accept" and before ~= nil
  if before then
    otherwise = "<Plug>(dlsp-not-" .. action .. ")"
    before.lhs, before.lhsraw, before.lhsrawalt = otherwise, vim.keycode(otherwise), nil
    vim.fn.mapset("i", false, before)
  end
  vim.keymap.set("i", lhs, function()
    if action == "accept" and require("dlsp.native").accept() then
      return "<C-G>u"
    end
    return WANTED[action]() and plug or otherwise
  end, { expr = true, remap = true, desc = "dlsp: " .. action:gsub("-", " ") })
end

---Map the keys of the settings, once. A key that the user mapped to a `<Plug>(dlsp-…)` is left as it is.
function M.set()
  local config = require("dlsp.config")
  for _, action in ipairs(config.INSERT) do
    local lhs = config.get().keys[action]
    local before = lhs and M.mapping(lhs)
    local ours = before and (before.desc or ""):find("^dlsp: ")
      or before and (before.rhs or ""):find("<Plug>(dlsp-", 1, true)
    if lhs and not ours then
      set(action, lhs)
    end
  end
end

return M
