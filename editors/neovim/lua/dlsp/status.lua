-- What dlsp is doing, for the statusline and `:Dlsp status`.
local M = {}

---`busy`: the engine was too slow the last time.
---@alias dlsp.State "stopped"|"starting"|"loading"|"ready"|"thinking"|"busy"|"error"

---@type dlsp.State
M.state = "stopped"
---What there is to say about it: progress, a reason, what to do.
M.message = ""
---Where text goes, as the server says; empty while no engine is connected.
M.destination = ""

-- What the server calls this machine. Any other place where text goes is shown all the time.
local HERE = "this machine"

local SIGNS = {
  off = "off",
  stopped = "–",
  starting = "↓",
  loading = "↓",
  ready = "",
  thinking = "…",
  busy = "busy",
  error = "!",
}

---Tell of a change.
---@param before dlsp.State
local function announce(before)
  local data = { before = before, state = M.state }
  vim.schedule(function()
    vim.api.nvim_exec_autocmds("User", { pattern = "DlspStatus", modeline = false, data = data })
    vim.cmd.redrawstatus()
  end)
end

---@param state dlsp.State
---@param message string?
function M.set(state, message)
  message = message or ""
  if state == M.state and message == M.message then
    return
  end
  local before = M.state
  M.state, M.message = state, message
  if state == "stopped" or state == "error" then
    M.destination = ""
  end
  announce(before)
end

---It was switched on or off.
function M.switched()
  announce(M.state)
end

---`didChangeStatus` from the server.
---@param params {busy: boolean, kind: string, message: string, destination: string}
function M.server(params)
  if M.destination ~= params.destination then
    M.destination = params.destination
    vim.schedule(function()
      vim.cmd.redrawstatus()
    end)
  end
  local state = params.kind == "Normal" and "ready" or "error"
  if params.busy and state == "ready" then
    state = params.message == "" and "thinking" or "loading"
  end
  if M.state ~= "busy" or state ~= "ready" then
    M.set(state, params.message)
  end
end

---`dlsp/didAnswer` from the server: what became of a request.
---@param answer {skip: string|userdata, message: string|userdata}
function M.answered(answer)
  if answer.skip == "slow" then
    M.set("busy", answer.message --[[@as string]])
  elseif M.state == "busy" then
    M.set("ready")
  end
end

---`$/progress` from the server: long work, such as loading the model. How it ended is said by `didChangeStatus`.
---@param value {kind: string, title: string?, message: string?, percentage: integer?}
function M.progress(value)
  if value.kind == "end" then
    return
  end
  local parts = { value.title, value.message, value.percentage and value.percentage .. "%" }
  M.set("loading", table.concat(vim.tbl_values(parts), " "))
end

---A few characters for a statusline, and where text goes, if it leaves this machine.
---@return string
function M.line()
  local on = require("dlsp.switch").on(0)
  local goes = on and M.destination ~= "" and M.destination ~= HERE and "→ " .. M.destination or ""
  local sign = on and SIGNS[M.state] or SIGNS.off
  return table.concat(
    vim.tbl_filter(function(part)
      return part ~= ""
    end, { "dlsp", goes, sign }),
    " "
  )
end

---A sentence.
---@return string
function M.sentence()
  local off = require("dlsp.switch").why_off(0)
  if off then
    return "dlsp is off: " .. off
  end
  if M.state == "error" and M.message ~= "" then
    return vim.startswith(M.message, "dlsp") and M.message or "dlsp: " .. M.message
  end
  return "dlsp: " .. M.state .. (M.message ~= "" and ", " .. M.message or "")
end

return M
