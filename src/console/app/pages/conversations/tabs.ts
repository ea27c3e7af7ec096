import type { ConversationId } from "../../../../domain/Ids.ts"

const channel = new BroadcastChannel("parley-conversations")

/** Tells the user's other tabs that the conversation has changed. */
export const tellTabs = (id: ConversationId): void => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel reaches its own origin alone
  channel.postMessage(id)
}

/** Calls back when another tab has changed a conversation; returns how to stop that. */
export const onChangeInTab = (changed: (id: ConversationId) => void): (() => void) => {
  const listener = ({ data }: MessageEvent<ConversationId>) => changed(data)
  channel.addEventListener("message", listener)
  return () => channel.removeEventListener("message", listener)
}
