-- How places that should follow an edit are offered: drawn in the buffers, and with a hint about the keys, which are
-- borrowed for as long as that stands there.
local borrow = require("dlsp.borrow")
local config = require("dlsp.config")
local sites = require("dlsp.sites")

local M = {}

local OWNER = "edits"

---@class dlsp.Offer
---@field client vim.lsp.Client
---@field edit {uri: string, range: lsp.Range}|userdata the edit that the places should follow
---@field sites dlsp.Site[]
---@field calls table<string, fun()> what the keys do, by action
---@field bufs table<integer, boolean> where something is drawn or keys are borrowed
---@field at string the place of the cursor that is drawn, in the mode `subtle`

---Take marks and keys away.
---@param offer dlsp.Offer
function M.hide(offer)
  for buf in pairs(offer.bufs) do
    sites.hide(buf)
    borrow.give_back(buf, OWNER)
  end
  offer.bufs = {}
end

---The key that does an action in a buffer: the one of the settings, which leaves alone what the user mapped there and
---a <Tab> that is <C-I> and would go forward in the jump list; else one that the user mapped to the action.
---@param action string
---@return string? key
---@return boolean borrow whether it is to be borrowed
local function key_of(action)
  local lhs = config.get().keys[action]
  if lhs then
    local there = vim.fn.maparg(lhs, "n", false, true)
    local jumps, at = unpack(vim.fn.getjumplist())
    local forward = vim.keycode(lhs) == "\t" and at < #jumps
    if not forward and (vim.tbl_isempty(there) or vim.startswith(there.desc or "", "dlsp: ")) then
      return lhs, true
    end
  end
  for _, maps in ipairs({ vim.api.nvim_buf_get_keymap(0, "n"), vim.api.nvim_get_keymap("n") }) do
    for _, mapping in ipairs(maps) do
      if mapping.rhs == "<Plug>(dlsp-" .. action .. ")" then
        return mapping.lhs, false
      end
    end
  end
  return nil, false
end

---Borrow the keys in a buffer.
---@param buf integer
---@param calls table<string, fun()> what they do, by action
---@return table<string, string> what they are, by action
local function take_keys(buf, calls)
  local borrowed, known = {}, {}
  vim.api.nvim_buf_call(buf, function()
    for action, call in pairs(calls) do
      local lhs, borrow_it = key_of(action)
      known[action] = lhs
      if lhs and borrow_it then
        borrowed[lhs] = call
      end
    end
  end)
  borrow.take(buf, OWNER, borrowed, "dlsp: the places of the edit")
  return known
end

---What there is and which keys are for it, in a few words.
---@param offer dlsp.Offer
---@param uri string the file that is looked at
---@param keys table<string, string>
---@return string
local function hint(offer, uri, keys)
  local files, here = sites.by_file(offer.sites), false
  for _, file in ipairs(files) do
    here = here or sites.same(file.uri, uri)
  end
  local where = ""
  if #files > 1 then
    where = (" in %d files"):format(#files)
  elseif not here then
    where = ", in " .. sites.name(files[1].uri)
  end
  local one, words = #offer.sites == 1, {}
  local next = here and "next" or one and "shows it" or "shows the first"
  local certain = #vim.tbl_filter(function(site)
    return site.certain
  end, offer.sites)
  local all = certain == #offer.sites and "all" or ("the %d that are certain"):format(certain)
  for _, each in ipairs({ { "next-edit", next }, { "accept-edits", all }, { "dismiss-edits", "none" } }) do
    local lhs = keys[each[1]]
    if lhs and not (each[2] == all and (certain == 0 or one and not here)) then
      words[#words + 1] = lhs .. " " .. each[2]
    end
  end
  local unseen = #vim.tbl_filter(function(site)
    return not sites.in_sight(site)
  end, offer.sites)
  if unseen > 0 and (here or #files > 1) then
    where = where .. (one and ", out of sight" or (", %d out of sight"):format(unseen))
  end
  local said = ("%d place%s%s"):format(#offer.sites, one and "" or "s", where)
  return said .. (#words > 0 and ": " .. table.concat(words, ", ") or "")
end

---Whether a place is on the cursor's line.
---@param buf integer the place's buffer
---@param site dlsp.Site
---@return boolean
local function at_cursor(buf, site)
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local from, to = site.range.start.line, site.range["end"].line
  return buf == vim.api.nvim_get_current_buf() and row >= from and row <= to
end

---The numbers of the places on the cursor's line.
---@param offer dlsp.Offer
---@return string
local function at_hand(offer)
  local found = {}
  for number, site in ipairs(offer.sites) do
    local buf = sites.buffer(site)
    found[#found + 1] = buf and at_cursor(buf, site) and number or nil
  end
  return table.concat(found, " ")
end

---Draw the places and a hint behind the edit. In the mode `subtle` each place is a mark in the margin, and only those
---on the cursor's line are drawn, with the hint there.
---@param offer dlsp.Offer
function M.show(offer)
  local subtle, encoding = config.get().edits == "subtle", offer.client.offset_encoding
  local keys = {} ---@type table<integer, table<string, string>>
  local function take(buf)
    offer.bufs[buf] = true
    keys[buf] = keys[buf] or take_keys(buf, offer.calls)
  end
  offer.at = at_hand(offer)
  for _, site in ipairs(offer.sites) do
    local buf = sites.buffer(site)
    if buf and sites.stands(buf, site, encoding) then
      offer.bufs[buf] = true
      if subtle then
        sites.mark(buf, site)
      end
      if not subtle or at_cursor(buf, site) then
        take(buf)
        sites.draw(buf, site, encoding)
      end
    end
  end
  local buf, edit = vim.api.nvim_get_current_buf(), offer.edit
  if subtle and keys[buf] then
    local row = vim.api.nvim_win_get_cursor(0)[1] - 1
    sites.hint(buf, row, hint(offer, vim.uri_from_bufnr(buf), keys[buf]))
  elseif not subtle and type(edit) == "table" then
    local from = sites.buffer({ textDocument = edit })
    if from then
      take(from)
      sites.hint(from, edit.range.start.line, hint(offer, edit.uri, keys[from]))
    end
  end
end

---The cursor moved: in the mode `subtle` it may have come to a place, or left one.
---@param offer dlsp.Offer
function M.moved(offer)
  if config.get().edits == "subtle" and offer.at ~= at_hand(offer) then
    M.hide(offer)
    M.show(offer)
  end
end

return M
