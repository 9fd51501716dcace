-- Next edits: the places that should follow the user's last edit are asked for, shown, visited, changed or dismissed.
local client = require("dlsp.client")
local compat = require("dlsp.compat")
local config = require("dlsp.config")
local menu = require("dlsp.menu")
local offered = require("dlsp.offered")
local range = require("dlsp.range")
local sites = require("dlsp.sites")
local switch = require("dlsp.switch")

local M = {}

local METHOD = "dlsp/edits"
local PAUSE_MS = 500
local UNKNOWN = -32601
local MOST_NAMED = 5 -- files in a question
local NONE = "dlsp: no place should follow an edit."
local UNSURE = "dlsp: no place follows the edit for certain; go through them one by one."

local offer ---@type dlsp.Offer?
local asked ---@type {client: vim.lsp.Client, id: integer?, again: boolean?}?
local edited ---@type integer? the buffer that the user changed last
local deaf = {} ---@type table<integer, boolean> clients whose server knows nothing of edits
local own = {} ---@type table<integer, integer> buffers as our own change left them
local timer = assert(vim.uv.new_timer())

---Take away what is shown, and ask for nothing.
function M.clear()
  timer:stop()
  if asked and asked.id then
    compat.call(asked.client, "cancel_request", asked.id)
  end
  local shown = offer
  asked, offer = nil, nil
  if shown then
    offered.hide(shown)
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
  local _, id = compat.call(server, "request", METHOD, params, function(err, result)
    if asked ~= this then
      return
    end
    asked = nil
    deaf[server.id] = err and err.code == UNKNOWN or nil
    if not err and type(result) == "table" and #(result.sites or {}) > 0 then
      table.sort(result.sites, sites.before)
      local calls = { ["next-edit"] = M.go_on, ["accept-edits"] = M.accept_all, ["dismiss-edits"] = M.dismiss }
      offer = { client = server, edit = result.edit, sites = result.sites, calls = calls, bufs = {}, at = "" }
      offered.show(offer)
    end
    done(offer ~= nil)
    if this.again and not offer then
      ask()
    end
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
  local encoding, by_buf, count = offer.client.offset_encoding, {}, 0
  for _, site in ipairs(chosen) do
    local buf = vim.uri_to_bufnr(site.textDocument.uri)
    vim.fn.bufload(buf)
    if sites.stands(buf, site, encoding) then
      by_buf[buf] = by_buf[buf] or {}
      table.insert(by_buf[buf], { range = site.range, newText = site.newText })
      count = count + 1
    end
  end
  M.clear()
  for buf, edits in pairs(by_buf) do
    vim.lsp.util.apply_text_edits(edits, buf, encoding)
    vim.bo[buf].buflisted = true
    own[buf] = vim.api.nvim_buf_get_changedtick(buf)
  end
  local files = vim.tbl_count(by_buf)
  if files > 1 then
    local done = "dlsp: changed %d places in %d files, not saved; `u` undoes those of one file."
    vim.notify(done:format(count, files), vim.log.levels.INFO)
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

---Change the place at the cursor as the edit was.
---@return boolean whether there is one
function M.accept()
  local site = offer and around()
  if site then
    apply({ site })
  end
  return site ~= nil
end

---Change the place at the cursor; go to the next place where there is none.
function M.go_on()
  if not M.accept() then
    M.next()
  end
end

---Change all places that certainly follow the edit. Where some are in other files or out of sight, files and lines are
---named and the user is asked first.
---@return boolean whether there was any place
function M.accept_all()
  if not offer then
    return false
  end
  local this, uri = offer, vim.uri_from_bufnr(0)
  local certain = vim.tbl_filter(function(site)
    return site.certain
  end, this.sites)
  if #certain == 0 then
    vim.notify(UNSURE, vim.log.levels.INFO)
    return true
  end
  local here = vim.tbl_filter(function(site)
    return sites.same(site.textDocument.uri, uri)
  end, certain)
  if #here == #certain and #vim.tbl_filter(sites.in_sight, certain) == #certain then
    apply(certain)
    return true
  end
  local files = vim.tbl_map(sites.told, sites.by_file(certain))
  if #files > MOST_NAMED then
    local more = #files - MOST_NAMED
    files = vim.list_slice(files, 1, MOST_NAMED)
    files[#files + 1] = ("and %d more files"):format(more)
  end
  local choices = { { text = "All: " .. table.concat(files, "; "), sites = certain } }
  if #here > 0 and #here < #certain then
    choices[2] = { text = ("This file alone (%d)"):format(#here), sites = here }
  end
  local one = #certain == 1
  vim.ui.select(choices, {
    prompt = ("Change %d place%s, some of them out of sight?"):format(#certain, one and "" or "s"),
    format_item = function(choice)
      return choice.text
    end,
  }, function(choice)
    vim.cmd.redraw() -- the question goes, so that what is said next does not wait for <Enter>
    if choice and offer == this then
      apply(choice.sites)
    end
  end)
  return true
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

---A buffer changed: what is shown may not hold any more. Asks anew when no key has come for a while.
---@param buf integer
function M.changed(buf)
  if own[buf] == vim.api.nvim_buf_get_changedtick(buf) then
    return
  end
  own[buf], edited = nil, buf
  M.clear()
  if config.get().edits ~= "off" and switch.on(buf) and menu.one_cursor() then
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

---Other servers report anew what is wrong in a buffer, which the last edit in it may have left to be done.
---@param buf integer
function M.diagnosed(buf)
  if buf ~= edited or buf ~= vim.api.nvim_get_current_buf() or offer or timer:is_active() then
    return
  end
  if config.get().edits ~= "off" and switch.on(buf) and menu.one_cursor() then
    if asked then
      asked.again = true
    else
      ask()
    end
  end
end

---The cursor moved.
function M.moved()
  if offer then
    offered.moved(offer)
  end
end

---A file was opened while places are shown: those in it can be drawn now.
function M.attached()
  if offer or asked then
    ask()
  end
end

return M
