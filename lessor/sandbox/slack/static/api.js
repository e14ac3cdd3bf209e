// The people API, as one person at a time.

import { toast } from "./dom.js";

export async function call(verb, path, body) {
  const options = { method: verb, headers: {} };
  if (verb !== "GET") {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body ?? {});
  }
  const answer = await fetch(`/sandbox/api/${path}`, options);
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error || `HTTP ${answer.status}`);
  return content;
}

export async function act(who, name, body) {
  try {
    return await call("POST", `people/${encodeURIComponent(who)}/${name}`, body);
  } catch (error) {
    toast(error.message);
    return { acked: false, error: error.message };
  }
}

export function listen(changed, connected) {
  const stream = new EventSource("/sandbox/api/stream");
  stream.onopen = () => connected(true);
  stream.onerror = () => connected(false);
  stream.onmessage = changed;
}
