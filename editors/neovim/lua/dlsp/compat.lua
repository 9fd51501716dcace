-- What Neovim 0.10 does in another way than 0.11 and newer.
local M = {}

local NEW = vim.fn.has("nvim-0.11") == 1

---Call a method of a client.
---@param client vim.lsp.Client
---@param method string
function M.call(client, method, ...)
  if NEW then
    return client[method](client, ...)
  end
  return client[method](...)
end

---Whether a value is what `vim.validate` is told that it must be.
---@param name string
---@param value any
---@param kind string|fun(value: any): boolean
---@param meant string
---@return boolean
function M.validate(name, value, kind, meant)
  if NEW then
    return (pcall(vim.validate, name, value, kind, false, meant))
  end
  return (pcall(vim.validate, { [name] = { value, kind, type(kind) == "function" and meant or false } }))
end

---The byte column of a position's `character` in `line`.
---@param line string
---@param units integer
---@param encoding string
---@return integer
function M.byte(line, units, encoding)
  if encoding == "utf-8" then
    return math.min(units, #line)
  end
  if NEW then
    return vim.str_byteindex(line, encoding, units, false)
  end
  local ok, byte = pcall(vim.str_byteindex, line, units, encoding == "utf-16")
  return ok and byte or #line
end

---The `character` of a byte column in `line`.
---@param line string
---@param byte integer
---@param encoding string
---@return integer
function M.units(line, byte, encoding)
  local before = line:sub(1, byte)
  if encoding == "utf-8" then
    return #before
  end
  return encoding == "utf-16" and M.utf16(before) or vim.fn.strchars(before)
end

---How many UTF-16 units `text` has.
---@param text string
---@return integer
function M.utf16(text)
  if NEW then
    return vim.str_utfindex(text, "utf-16")
  end
  local _, units = vim.str_utfindex(text)
  return units
end

return M
