-- Neovim's events that suggestions, previews and next edits depend on.
local M = {}

local started = false

---Listen to them; called when the first file is opened.
function M.start()
  if started then
    return
  end
  started = true
  local suggest, menu, config = require("dlsp.suggest"), require("dlsp.menu"), require("dlsp.config")
  local group = vim.api.nvim_create_augroup("dlsp.watch", {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, callback = callback })
  end
  on("ModeChanged", function()
    menu.mode_changed(vim.v.event.old_mode, vim.v.event.new_mode)
    if vim.v.event.new_mode == "i" and not config.get().native then
      suggest.check(true) -- at `InsertEnter` the mode is another one yet
    end
  end)
  on("LspAttach", function(event)
    require("dlsp.native").attach(event.data.client_id)
    require("dlsp.edits").attached()
  end)
  on("LspNotify", function(event)
    require("dlsp.client").notified(event.data)
  end)
  on("LspDetach", function(event)
    require("dlsp.preview").lost(event.buf, event.data.client_id)
    vim.schedule(require("dlsp.client").forget_roots)
  end)
  on({ "TextChanged", "TextChangedI" }, function(event)
    require("dlsp.preview").changed(event.buf)
    require("dlsp.edits").changed(event.buf)
  end)
  on({ "CursorMoved", "CursorMovedI" }, function()
    require("dlsp.edits").moved()
  end)
  on("DiagnosticChanged", function(event)
    require("dlsp.edits").diagnosed(event.buf)
  end)
  on({ "BufLeave", "BufUnload" }, function(event)
    require("dlsp.preview").leave(event.buf)
  end)
  if config.get().native then
    return
  end
  menu.follow(function(open)
    if open then
      suggest.clear()
    else
      suggest.check(true)
    end
  end)
  on({ "TextChangedI", "CursorMovedI", "CompleteDone" }, function()
    suggest.check(true)
  end)
  vim.api.nvim_create_autocmd("User", {
    group = group,
    pattern = "DlspStatus",
    callback = function(event)
      if event.data.before == "loading" and event.data.state == "ready" then
        suggest.check(true) -- the engine is there now: ask what could not be answered before
      end
    end,
  })
  on({ "CompleteChanged", "InsertLeave", "BufLeave", "WinLeave", "RecordingEnter" }, suggest.clear)
end

return M
