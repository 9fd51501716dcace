-- The errors that other language servers report of a buffer, and what the quick fixes that they prefer would change.
local compat = require("dlsp.compat")
local range = require("dlsp.range")

local M = {}

local MOST_CHARACTERS, MOST_ERRORS = 2000, 100
local MOST_FIXES = 8 -- of a question

---@class dlsp.Error
---@field line integer
---@field character integer where it begins, in the units of dlsp's server
---@field message string
---@field edits lsp.TextEdit[]? what the quick fix changes in the document

---A position in a server's units.
---@param buf integer
---@param row integer
---@param col integer in bytes
---@param encoding string
---@return lsp.Position
local function position(buf, row, col, encoding)
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
  return { line = row, character = compat.units(line, col, encoding) }
end

---An error as the server that reports it knows it.
---@param buf integer
---@param each vim.Diagnostic
---@param encoding string
---@return lsp.Diagnostic
local function known(buf, each, encoding)
  return {
    range = {
      start = position(buf, each.lnum, each.col, encoding),
      ["end"] = position(buf, each.end_lnum or each.lnum, each.end_col or each.col, encoding),
    },
    message = each.message,
    severity = each.severity,
    source = each.source,
    code = each.code,
    data = vim.tbl_get(each, "user_data", "lsp", "data"),
  }
end

---What the one action that a server prefers changes in a document; nothing if it does more than that.
---@param actions lsp.CodeAction[]
---@param uri string
---@return lsp.TextEdit[]?
local function preferred(actions, uri)
  local chosen = vim.tbl_filter(function(each)
    return each.isPreferred and each.edit and not each.command
  end, actions)
  local edit = #chosen == 1 and chosen[1].edit or {}
  local documents = edit.documentChanges
  if documents then
    local one = #documents == 1 and documents[1].textDocument and documents[1]
    return one and one.textDocument.uri == uri and one.edits or nil
  end
  return vim.tbl_count(edit.changes or {}) == 1 and edit.changes[uri] or nil
end

---@param buf integer
---@param encoding string that of dlsp's server
---@return dlsp.Error[], vim.Diagnostic[]
function M.of(buf, encoding)
  local all = vim.diagnostic.get(buf, { severity = vim.diagnostic.severity.ERROR })
  all = vim.list_slice(all, 1, MOST_ERRORS)
  return vim.tbl_map(function(each)
    local at = position(buf, each.lnum, each.col, encoding)
    local message = vim.fn.strcharpart(each.message, 0, MOST_CHARACTERS)
    return { line = at.line, character = at.character, message = message }
  end, all),
    all
end

---The errors, and what has to be asked for their fixes in some lines.
---@param buf integer
---@param lines lsp.Range
---@param encoding string that of dlsp's server
---@return dlsp.Error[], dlsp.Asked[]
function M.with_fixes(buf, lines, encoding)
  local uri, asked = vim.uri_from_bufnr(buf), {}
  local found, all = M.of(buf, encoding)
  for number, each in ipairs(all) do
    if #asked < MOST_FIXES and each.lnum >= lines.start.line and each.lnum < lines["end"].line then
      asked[#asked + 1] = {
        method = "textDocument/codeAction",
        params = function(server)
          local diagnostic = known(buf, each, server.offset_encoding)
          local context = { diagnostics = { diagnostic }, only = { "quickfix" }, triggerKind = 2 }
          return { textDocument = { uri = uri }, range = diagnostic.range, context = context }
        end,
        read = function(actions, server)
          local edits = preferred(actions, uri)
          return edits
            and vim.tbl_map(function(edit)
              local from_row, from_col, to_row, to_col = range.bytes(buf, edit.range, server.offset_encoding)
              local start = position(buf, from_row, from_col, encoding)
              local ends = position(buf, to_row, to_col, encoding)
              return { range = { start = start, ["end"] = ends }, newText = edit.newText }
            end, edits)
        end,
        tell = function(edits)
          found[number].edits = edits
        end,
      }
    end
  end
  return found, asked
end

return M
