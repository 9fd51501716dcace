-- Carrying an edit on: the places that should follow the last edit are asked for, visited, accepted or dismissed.
local borrow = require("dlsp.borrow")
local client = require("dlsp.client")
local compat = require("dlsp.compat")
local config = require("dlsp.config")
local menu = require("dlsp.menu")
local range = require("dlsp.range")
local sites = require("dlsp.sites")
local switch = require("dlsp.switch")

local M = {}

local METHOD = "dlsp/edits"
local PAUSE_MS = 500
local UNKNOWN = -32601
local NONE = "dlsp: no place to carry an edit on to."

---@class dlsp.Offer
---@field client vim.lsp.Client
---@field sites dlsp.Site[]
---@field bufs table<integer, boolean> where something is drawn and keys are borrowed

local offer ---@type dlsp.Offer?
local asked ---@type {client: vim.lsp.Client, id: integer?}?
local deaf = {} ---@type table<integer, boolean> clients whose server knows nothing of edits
local own = {} ---@type table<integer, integer> buffers as our own change left them
local timer = assert(vim.uv.new_timer())

---Take away what is shown, and ask for nothing.
function M.clear()
  timer:stop()
  if asked and asked.id then
    compat.call(asked.client, "cancel_request", asked.id)
  end
  local bufs = offer and offer.bufs or {}
  asked, offer = nil, nil
  for buf in pairs(bufs) do
    sites.hide(buf)
    borrow.give_back(buf)
  end
end

---@param edit {uri: string, range: lsp.Range}|userdata the edit that is carried on
local function show(edit)
  local function keys(buf)
    if not offer.bufs[buf] then
      offer.bufs[buf] = true
      local map = { ["<Tab>"] = M.go_on, ["<S-Tab>"] = M.accept_all, ["<Esc>"] = M.dismiss }
      borrow.take(buf, map, "dlsp: carry the edit on")
    end
  end
  for _, site in ipairs(offer.sites) do
    local buf = sites.buffer(site)
    if buf and sites.stands(buf, site, offer.client.offset_encoding) then
      keys(buf)
      sites.draw(buf, site, offer.client.offset_encoding)
    end
  end
  local from = type(edit) == "table" and sites.buffer({ textDocument = edit })
  if from then
    keys(from)
    local hint = ("%d place%s: <Tab> goes on, <S-Tab> all, <Esc> none"):format(
      #offer.sites,
      #offer.sites > 1 and "s" or ""
    )
    sites.hint(from, edit.range.start.line, hint)
  end
end

---Ask the server, and show what it answers; then call `done` with whether there is a place.
---@param done fun(there: boolean)?
local function ask(done)
  done = done or function() end
  local server = client.of(0)
  if not server or deaf[server.id] then
    return done(false)
  end
  M.clear()
  local this = { client = server }
  asked = this
  local params = vim.lsp.util.make_position_params(0, server.offset_encoding)
  params.textDocument.version = vim.lsp.util.buf_versions[vim.api.nvim_get_current_buf()]
  local _, id = compat.call(server, "request", METHOD, params, function(err, result)
    if asked ~= this then
      return
    end
    asked = nil
    deaf[server.id] = err and err.code == UNKNOWN or nil
    if not err and type(result) == "table" and #(result.sites or {}) > 0 then
      table.sort(result.sites, sites.before)
      offer = { client = server, sites = result.sites, bufs = {} }
      show(result.edit)
    end
    done(offer ~= nil)
  end)
  this.id = id
end

---Whether the cursor is before a place, or in it.
---@return boolean
local function ahead(site, row, col)
  local _, _, end_row, end_col = range.bytes(0, site.range, offer.client.offset_encoding)
  return row < end_row
    or (row == end_row and col < end_col)
    or (row == end_row and col == end_col and site.oldText == "")
end

---The place at the cursor, and the one to go to from there.
---@return dlsp.Site?, dlsp.Site
local function around()
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local here, first = vim.api.nvim_get_current_buf(), nil
  for index, site in ipairs(offer.sites) do
    if sites.buffer(site) == here and ahead(site, row - 1, col) then
      local from_row, from_col = range.bytes(0, site.range, offer.client.offset_encoding)
      local inside = row - 1 > from_row or (row - 1 == from_row and col >= from_col)
      return inside and site or nil, inside and (offer.sites[index + 1] or offer.sites[1]) or site
    end
    first = first or sites.buffer(site) ~= here and site or nil
  end
  return nil, first or offer.sites[1]
end

---@param site dlsp.Site
local function go(site)
  local encoding = offer.client.offset_encoding
  if sites.buffer(site) ~= vim.api.nvim_get_current_buf() then
    vim.cmd("hide edit " .. vim.fn.fnameescape(vim.uri_to_fname(site.textDocument.uri))) -- whatever 'hidden' says
  else
    vim.cmd.normal({ "m'", bang = true })
  end
  local row, col = range.bytes(0, site.range, encoding)
  pcall(vim.api.nvim_win_set_cursor, 0, { row + 1, col })
  vim.cmd.normal({ "zv", bang = true }) -- seen, not in a closed fold
end

---Put the new text into some places: one undo step in each buffer.
---@param chosen dlsp.Site[]
local function apply(chosen)
  local encoding, by_buf = offer.client.offset_encoding, {}
  for _, site in ipairs(chosen) do
    local buf = sites.buffer(site) or vim.fn.bufadd(vim.uri_to_fname(site.textDocument.uri))
    vim.fn.bufload(buf)
    if sites.stands(buf, site, encoding) then
      by_buf[buf] = by_buf[buf] or {}
      table.insert(by_buf[buf], { range = site.range, newText = site.newText })
    end
  end
  M.clear()
  for buf, edits in pairs(by_buf) do
    vim.lsp.util.apply_text_edits(edits, buf, encoding)
    vim.bo[buf].buflisted = true
    own[buf] = vim.api.nvim_buf_get_changedtick(buf)
  end
  ask()
end

---Go to the next place; look for places first where none are known.
function M.next()
  local function visit(there)
    if not there then
      return vim.notify(NONE, vim.log.levels.INFO)
    end
    local _, next = around()
    go(next)
  end
  if offer then
    visit(true)
  else
    ask(visit)
  end
end

---Carry the edit on at the place at the cursor.
---@return boolean whether there is one
function M.accept()
  local site = offer and around()
  if site then
    apply({ site })
  end
  return site ~= nil
end

---Carry the edit on at the cursor; go to the next place where there is none.
function M.go_on()
  if not M.accept() then
    M.next()
  end
end

---Carry the edit on everywhere.
---@return boolean whether there was any place
function M.accept_all()
  local there = offer ~= nil
  if offer then
    apply(offer.sites)
  end
  return there
end

---None of these places.
---@return boolean whether there was any
function M.dismiss()
  local there = offer
  M.clear()
  if there then
    compat.call(there.client, "notify", "dlsp/didDismissEdits", vim.empty_dict())
  end
  return there ~= nil
end

---@return boolean
function M.visible()
  return offer ~= nil
end

---A buffer changed: what is shown may not hold; ask anew once the keys rest.
---@param buf integer
function M.changed(buf)
  if own[buf] == vim.api.nvim_buf_get_changedtick(buf) then
    return
  end
  own[buf] = nil
  M.clear()
  if config.get().edits and switch.on(buf) and menu.one_cursor() then
    timer:start(
      PAUSE_MS,
      0,
      vim.schedule_wrap(function()
        if buf == vim.api.nvim_get_current_buf() then
          ask()
        end
      end)
    )
  end
end

---A file was opened while places are shown: those in it can be drawn now.
function M.attached()
  if offer or asked then
    ask()
  end
end

return M
