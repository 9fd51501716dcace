// The settings as the server has them: `suggestByLanguage` is a part of its `suggest`.
import type { ConfigurationMiddleware } from "vscode-languageclient";

interface Settings {
  suggest?: string | null;
  suggestByLanguage?: Record<string, string>;
}

/** What the server is answered when it asks for the settings. */
export const settings: ConfigurationMiddleware["configuration"] = async (params, token, next) => {
  const answer = await next(params, token);
  return Array.isArray(answer) ? answer.map(merged) : answer;
};

function merged(given: Settings | null): object | null {
  if (!given) {
    return given;
  }
  const { suggestByLanguage = {}, ...others } = given;
  const some = Object.keys(suggestByLanguage).length > 0;
  return some ? { ...others, suggest: { "*": given.suggest ?? "auto", ...suggestByLanguage } } : others;
}
