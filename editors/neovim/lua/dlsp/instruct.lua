-- Change lines by an instruction in plain words, such as "use a dict comprehension".
local preview = require("dlsp.preview")

local M = {}

---Ask for the change of some lines, and for the instruction first if there is none.
---@param first integer from 1
---@param last integer
---@param instruction string?
function M.start(first, last, instruction)
  if not instruction or instruction == "" then
    return vim.ui.input({ prompt = "Instruct dlsp: " }, function(said)
      if said and said ~= "" then
        M.start(first, last, said)
      end
    end)
  end
  local range = { start = { line = first - 1, character = 0 }, ["end"] = { line = last, character = 0 } }
  preview.start({
    method = "dlsp/instruct",
    params = {
      textDocument = { uri = vim.uri_from_bufnr(0) },
      range = range,
      instruction = instruction,
    },
    range = range,
    working = "following the instruction",
    unknown = "this server follows no instructions; update dlsp.",
    nothing = "no change follows from the instruction.",
  })
end

return M
