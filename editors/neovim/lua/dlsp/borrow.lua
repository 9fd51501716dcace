-- Normal mode keys of a buffer, borrowed for as long as something is shown there.
--
-- Several owners may borrow a key: the newest has it. When the last one gives it back, what the user had mapped before
-- is there again, unless the user mapped the key anew meanwhile.
local M = {}

---@class dlsp.Borrowed
---@field before table|false the buffer's own mapping of the key before it was borrowed; false: it had none
---@field call fun() what the key is mapped to while it is borrowed
---@field owners {owner: string, call: fun()}[] the newest last

local borrowed = {} ---@type table<integer, table<string, dlsp.Borrowed>> by buffer and key

---The mapping of a key in the current buffer, nil if it has none of its own.
---@param lhs string
---@return table<string, any>?
local function mapping(lhs)
  local there = vim.fn.maparg(lhs, "n", false, true)
  return there.buffer == 1 and there or nil
end

---Have these keys in a buffer.
---@param buf integer
---@param owner string who has them until `give_back`
---@param keys table<string, fun()>
---@param desc string
function M.take(buf, owner, keys, desc)
  M.give_back(buf, owner)
  borrowed[buf] = borrowed[buf] or {}
  vim.api.nvim_buf_call(buf, function()
    for lhs, call in pairs(keys) do
      local key = borrowed[buf][lhs]
      if not key then
        local new = { before = mapping(lhs) or false, owners = {} }
        function new.call()
          new.owners[#new.owners].call()
        end
        vim.keymap.set("n", lhs, new.call, { buffer = buf, desc = desc, nowait = true })
        borrowed[buf][lhs], key = new, new
      end
      table.insert(key.owners, { owner = owner, call = call })
    end
  end)
end

---Give an owner's keys back.
---@param buf integer
---@param owner string
function M.give_back(buf, owner)
  local there = vim.api.nvim_buf_is_valid(buf)
  for lhs, key in pairs(borrowed[buf] or {}) do
    key.owners = vim.tbl_filter(function(each)
      return each.owner ~= owner
    end, key.owners)
    if #key.owners == 0 then
      borrowed[buf][lhs] = nil
      if there then
        vim.api.nvim_buf_call(buf, function()
          local now = mapping(lhs)
          if now and now.callback == key.call then
            vim.keymap.del("n", lhs, { buffer = buf })
            if key.before then
              vim.fn.mapset("n", false, key.before)
            end
          end
        end)
      end
    end
  end
  if borrowed[buf] and not next(borrowed[buf]) then
    borrowed[buf] = nil
  end
end

return M
