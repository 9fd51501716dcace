-- Next edits: the places that should follow the user's last edit are asked for, shown, visited, changed or dismissed.
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
local OWNER = "edits"
local PAUSE_MS = 500
local UNKNOWN = -32601
local MOST_NAMED = 5 -- files in a question
local NONE = "dlsp: no place should follow an edit."
local UNSURE = "dlsp: no place follows the edit for certain; go through them one by one."

---@class dlsp.Offer
---@field client vim.lsp.Client
---@field edit {uri: string, range: lsp.Range}|userdata the edit that the places should follow
---@field sites dlsp.Site[]
---@field bufs table<integer, boolean> where something is drawn or keys are borrowed
---@field at string the place of the cursor that is drawn, in the mode `subtle`

local offer ---@type dlsp.Offer?
local asked ---@type {client: vim.lsp.Client, id: integer?}?
local deaf = {} ---@type table<integer, boolean> clients whose server knows nothing of edits
local own = {} ---@type table<integer, integer> buffers as our own change left them
local timer = assert(vim.uv.new_timer())

---Take marks and keys away.
---@param bufs table<integer, boolean>
local function erase(bufs)
  for buf in pairs(bufs) do
    sites.hide(buf)
    borrow.give_back(buf, OWNER)
  end
end

---Take away what is shown, and ask for nothing.
function M.clear()
  timer:stop()
  if asked and asked.id then
    compat.call(asked.client, "cancel_request", asked.id)
  end
  local bufs = offer and offer.bufs or {}
  asked, offer = nil, nil
  erase(bufs)
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
---@return table<string, string> what they are, by action
local function take_keys(buf)
  local borrowed, known = {}, {}
  local calls = { ["next-edit"] = M.go_on, ["accept-edits"] = M.accept_all, ["dismiss-edits"] = M.dismiss }
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
---@param uri string the file that is looked at
---@param keys table<string, string>
---@return string
local function hint(uri, keys)
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
---@return string
local function at_hand()
  local found = {}
  for number, site in ipairs(offer.sites) do
    local buf = sites.buffer(site)
    found[#found + 1] = buf and at_cursor(buf, site) and number or nil
  end
  return table.concat(found, " ")
end

---Draw the places and a hint behind the edit. In the mode `subtle` each place is a mark in the margin, and only those
---on the cursor's line are drawn, with the hint there.
local function show()
  local subtle, encoding = config.get().edits == "subtle", offer.client.offset_encoding
  local keys = {} ---@type table<integer, table<string, string>>
  local function take(buf)
    offer.bufs[buf] = true
    keys[buf] = keys[buf] or take_keys(buf)
  end
  offer.at = at_hand()
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
    sites.hint(buf, row, hint(vim.uri_from_bufnr(buf), keys[buf]))
  elseif not subtle and type(edit) == "table" then
    local from = sites.buffer({ textDocument = edit })
    if from then
      take(from)
      sites.hint(from, edit.range.start.line, hint(edit.uri, keys[from]))
    end
  end
end

---The cursor moved: in the mode `subtle` it may have come to a place, or left one.
function M.moved()
  if offer and config.get().edits == "subtle" and offer.at ~= at_hand() then
    local bufs = offer.bufs
    offer.bufs = {}
    erase(bufs)
    show()
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
      offer = { client = server, edit = result.edit, sites = result.sites, bufs = {}, at = "" }
      show()
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
  own[buf] = nil
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

---A file was opened while places are shown: those in it can be drawn now.
function M.attached()
  if offer or asked then
    ask()
  end
end

return M
