-- What the other language servers of a buffer say about a place or a name, for dlsp's server, which asks by
-- `dlsp/askServers`.
local compat = require("dlsp.compat")
local errors = require("dlsp.errors")

local M = {}

-- The answer has what came until then: next edits wait for what is said of names and errors, and nobody for the rest.
local CURSOR_MS, NAME_MS, FIXES_MS = 4000, 1300, 800
local MOST_CHARACTERS = 2000
local MOST_PLACES = 100 -- of one name; of one that has more nothing is said
local CHANGES = { "TextChanged", "TextChangedI", "TextChangedP" }

---A question to the servers of a buffer that know the method.
---@class dlsp.Asked
---@field method string
---@field params fun(server: vim.lsp.Client): table
---@field read fun(result: table, server: vim.lsp.Client): any nil where it says nothing
---@field tell fun(said: any) called with what the first server says that says something

---@class dlsp.Place
---@field textDocument {uri: string, version: integer|userdata|nil}
---@field position lsp.Position

---@class dlsp.Rename: dlsp.Place
---@field newName string

---@param text string
---@return string
local function cut(text)
  return vim.fn.strcharpart(text, 0, MOST_CHARACTERS)
end

---What is asked, by the field of the question, and the text of a result, nil if there is none.
---@type table<string, {method: string, text: fun(result: table): string?}>
local KINDS = {
  hover = {
    method = "textDocument/hover",
    text = function(result)
      local text = result.contents and vim.lsp.util.convert_input_to_markdown_lines(result.contents) or {}
      return #text > 0 and table.concat(text, "\n") or nil
    end,
  },
  signature = {
    method = "textDocument/signatureHelp",
    text = function(result)
      local signature = (result.signatures or {})[(result.activeSignature or 0) + 1]
      return signature and signature.label
    end,
  },
}

---The lines of a file, as its buffer has them, else the disk.
---@param uri string
---@return fun(row: integer): string
local function lines_of(uri)
  local name = vim.uri_to_fname(uri)
  if vim.fn.bufloaded(name) == 1 then
    local buf = vim.uri_to_bufnr(uri)
    return function(row)
      return vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
    end
  end
  local ok, lines = pcall(vim.fn.readfile, name)
  return function(row)
    return ok and lines[row + 1] or ""
  end
end

---A position in the units of another server.
---@param line fun(row: integer): string
---@param at lsp.Position
---@param from string
---@param to string
---@return lsp.Position
local function converted(line, at, from, to)
  if from == to then
    return at
  end
  local text = line(at.line)
  return { line = at.line, character = compat.units(text, compat.byte(text, at.character, from), to) }
end

---Places in the units of dlsp's server.
---@param found {uri: string, range: lsp.Range}[]
---@param from string
---@param to string
---@return dlsp.Place[]? none for none, and for too many
local function places(found, from, to)
  local lines, all = {}, {}
  for _, each in ipairs(#found <= MOST_PLACES and found or {}) do
    lines[each.uri] = lines[each.uri] or lines_of(each.uri)
    local position = converted(lines[each.uri], each.range.start, from, to)
    all[#all + 1] = { textDocument = { uri = each.uri }, position = position }
  end
  return #all > 0 and all or nil
end

---Where a server's rename would write a name; nowhere if it would do more than that, as with a file's name.
---@param edit lsp.WorkspaceEdit
---@param name string
---@return {uri: string, range: lsp.Range}[]
local function renamed(edit, name)
  local found = {}
  local function add(uri, edits)
    for _, each in ipairs(edits) do
      if each.newText == name then
        found[#found + 1] = { uri = uri, range = each.range }
      end
    end
  end
  for _, each in ipairs(edit.documentChanges or {}) do
    if each.kind then
      return {}
    end
    add(each.textDocument.uri, each.edits)
  end
  for uri, edits in pairs(not edit.documentChanges and edit.changes or {}) do
    add(uri, edits)
  end
  return found
end

---Ask the servers of a buffer but for the one that asks; the coroutine that calls this waits for what they say, of each
---question for the first server that says something. It ends after a time, and at one of `events` in the buffer.
---@param buf integer
---@param asker integer the client whose server asks
---@param all dlsp.Asked[]
---@param limit_ms integer
---@param events string[]
local function ask(buf, asker, all, limit_ms, events)
  local awaited = {} ---@type table<dlsp.Asked, integer> how many servers may still answer
  local sent = {} ---@type {server: vim.lsp.Client, id: integer}[]
  local over, thread = false, coroutine.running()
  local function go_on()
    if not over then
      over = true
      vim.schedule(function()
        coroutine.resume(thread)
      end)
    end
  end
  local function answered(asked, result, server)
    local said = awaited[asked] and result and asked.read(result, server)
    if said then
      asked.tell(said)
      awaited[asked] = nil
    elseif awaited[asked] then
      awaited[asked] = awaited[asked] > 1 and awaited[asked] - 1 or nil
    end
    if not next(awaited) then
      go_on()
    end
  end
  for _, asked in ipairs(all) do
    for _, server in ipairs(vim.lsp.get_clients({ bufnr = buf, method = asked.method })) do
      local function reply(_, result)
        vim.schedule(function()
          answered(asked, result, server)
        end)
      end
      if server.id ~= asker then
        local ok, id = compat.call(server, "request", asked.method, asked.params(server), reply, buf)
        if ok then
          awaited[asked] = (awaited[asked] or 0) + 1
          sent[#sent + 1] = { server = server, id = id }
        end
      end
    end
  end
  if next(awaited) then
    local ends = #events > 0 and vim.api.nvim_create_autocmd(events, { buffer = buf, callback = go_on })
    vim.defer_fn(go_on, limit_ms)
    coroutine.yield()
    if ends then
      vim.api.nvim_del_autocmd(ends)
    end
    for _, each in ipairs(next(awaited) and sent or {}) do
      compat.call(each.server, "cancel_request", each.id) -- it has other things to do
    end
  end
end

---What they say about the place at the cursor.
---@param question {textDocument: {uri: string}, hover: lsp.Position?, signature: lsp.Position?, diagnostics: boolean?}
---@param asker integer
---@return table
local function about_cursor(question, asker)
  local answer, all = vim.empty_dict(), {}
  local uri = question.textDocument.uri
  local buf, from = vim.uri_to_bufnr(uri), assert(vim.lsp.get_client_by_id(asker)).offset_encoding
  for kind, asked in pairs(KINDS) do
    local at = question[kind]
    if at then
      all[#all + 1] = {
        method = asked.method,
        params = function(server)
          local position = converted(lines_of(uri), at, from, server.offset_encoding)
          return { textDocument = question.textDocument, position = position }
        end,
        read = asked.text,
        tell = function(text)
          answer[kind] = cut(text)
        end,
      }
    end
  end
  ask(buf, asker, all, CURSOR_MS, {})
  if question.diagnostics then
    answer.diagnostics = errors.of(buf, from)
  end
  return answer
end

---What they report of a buffer, and how they would mend it in some lines. The next change of it ends that.
---@param question {textDocument: {uri: string}, fixes: lsp.Range}
---@param asker integer
---@return table
local function about_errors(question, asker)
  local buf = vim.uri_to_bufnr(question.textDocument.uri)
  local own = assert(vim.lsp.get_client_by_id(asker)).offset_encoding
  local found, asked = errors.with_fixes(buf, question.fixes, own)
  ask(buf, asker, asked, FIXES_MS, CHANGES)
  return { diagnostics = found }
end

---What they know of a name that was changed in a buffer. The next change of it ends that.
---@param question {textDocument: {uri: string}, rename: dlsp.Rename?, references: dlsp.Place[]}
---@param asker integer
---@return table
local function about_name(question, asker)
  local answer, all = { references = {} }, {}
  local versions = require("dlsp.client").versions
  local own = assert(vim.lsp.get_client_by_id(asker)).offset_encoding
  ---@param place dlsp.Place
  local function add(place, asked, more)
    local uri, version = place.textDocument.uri, place.textDocument.version
    function asked.params(server)
      local position = converted(lines_of(uri), place.position, own, server.offset_encoding)
      return vim.tbl_extend("error", { textDocument = { uri = uri }, position = position }, more)
    end
    if type(version) ~= "number" or version == versions[vim.uri_to_bufnr(uri)] then
      all[#all + 1] = asked
    end
  end
  for number, place in ipairs(question.references) do
    answer.references[number] = {}
    add(place, {
      method = "textDocument/references",
      read = function(result, server)
        return places(result, server.offset_encoding, own)
      end,
      tell = function(found)
        answer.references[number] = found
      end,
    }, { context = { includeDeclaration = true } })
  end
  if question.rename then
    local name = question.rename.newName
    add(question.rename, {
      method = "textDocument/rename",
      read = function(result, server)
        return places(renamed(result, name), server.offset_encoding, own)
      end,
      tell = function(found)
        answer.rename = found
      end,
    }, { newName = name })
  end
  ask(vim.uri_to_bufnr(question.textDocument.uri), asker, all, NAME_MS, CHANGES)
  return answer
end

---The answer to a question of dlsp's server; the coroutine that calls this waits for it.
---@param question table
---@param asker integer the client whose server asks
---@return table
function M.answer(question, asker)
  local about = question.references and about_name or question.fixes and about_errors or about_cursor
  return about(question, asker)
end

return M
