-- What the other language servers of a buffer say about a place, for dlsp's server, which asks by `dlsp/askServers`.
local compat = require("dlsp.compat")

local M = {}

local LIMIT_MS = 4000 -- the answer has what came until then
local MOST_CHARACTERS, MOST_ERRORS = 2000, 100

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

---A position in the units of another server.
---@param buf integer
---@param at lsp.Position
---@param from string
---@param to string
---@return lsp.Position
local function converted(buf, at, from, to)
  local line = vim.api.nvim_buf_get_lines(buf, at.line, at.line + 1, false)[1] or ""
  return { line = at.line, character = compat.units(line, compat.byte(line, at.character, from), to) }
end

---@param buf integer
---@return {line: integer, message: string}[]
local function errors(buf)
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(buf, { severity = vim.diagnostic.severity.ERROR })) do
    if #found < MOST_ERRORS then
      table.insert(found, { line = each.lnum, message = cut(each.message) })
    end
  end
  return found
end

---Ask the servers of a buffer but for the one that asks; the coroutine that calls this waits for their answers, of each
---kind for the first.
---@param question {textDocument: {uri: string}, hover: lsp.Position?, signature: lsp.Position?, diagnostics: boolean?}
---@param asker integer the client whose server asks
---@return table
function M.answer(question, asker)
  local answer, over = vim.empty_dict(), false
  local awaited = {} ---@type table<string, integer> how many servers may still answer, by kind
  local buf = vim.uri_to_bufnr(question.textDocument.uri)
  local from = assert(vim.lsp.get_client_by_id(asker)).offset_encoding
  local thread = coroutine.running()
  local function go_on()
    if not over then
      over = true
      vim.schedule(function()
        coroutine.resume(thread)
      end)
    end
  end
  local function answered(kind, result)
    local text = awaited[kind] and result and KINDS[kind].text(result)
    if text then
      answer[kind], awaited[kind] = cut(text), nil
    elseif awaited[kind] then
      awaited[kind] = awaited[kind] > 1 and awaited[kind] - 1 or nil
    end
    if not next(awaited) then
      go_on()
    end
  end
  for kind, asked in pairs(KINDS) do
    local at = question[kind]
    for _, client in ipairs(at and vim.lsp.get_clients({ bufnr = buf, method = asked.method }) or {}) do
      local params = { textDocument = question.textDocument }
      params.position = at and converted(buf, at, from, client.offset_encoding)
      if
        client.id ~= asker
        and compat.call(client, "request", asked.method, params, function(_, result)
          vim.schedule(function()
            answered(kind, result)
          end)
        end, buf)
      then
        awaited[kind] = (awaited[kind] or 0) + 1
      end
    end
  end
  if next(awaited) then
    vim.defer_fn(go_on, LIMIT_MS)
    coroutine.yield()
  end
  if question.diagnostics then
    answer.diagnostics = errors(buf)
  end
  return answer
end

return M
