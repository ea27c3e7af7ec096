import type { Answer } from "./Answer.ts"
import type { Asked, Protocol } from "./Asked.ts"
import { chatEvents, type ChatStyle } from "./ChatStream.ts"
import type { Failures, Refusal } from "./Refusal.ts"

/** What a scripted server remembers. */
export interface Memory {
  /** Its name. */
  readonly server: string
  /** The values that must come back as they were, and what each of them belongs to. */
  readonly issued: Map<string, string>
  /** Notes what a real server would take, though with worse answers. */
  readonly note: (text: string) => void
}

/** A provider that the gate covers. */
export interface Provider {
  /** In addresses, in values and in the catalog. */
  readonly name: string
  /** As documentation names it. */
  readonly label: string
  readonly protocol: Protocol
  /** The header with the key; null where there is none. */
  readonly key: "authorization" | "api-key" | "x-api-key" | null
  readonly failures: Failures
  /** What the server refuses of a request; null if nothing. */
  readonly check: (asked: Asked, memory: Memory) => Refusal | null
  readonly events: (asked: Asked, answer: Answer, memory: Memory) => ReadonlyArray<string>
  /** What the catalog says of the provider besides, and of its model. */
  readonly entry?: Readonly<Record<string, unknown>>
  readonly model: {
    readonly id: string
    readonly vision?: true
    readonly structuredOutput?: true
  }
}

interface ChatProvider extends Omit<Provider, "protocol" | "events"> {
  readonly style: ChatStyle
}

/** A provider that speaks Chat Completions. */
export const chatProvider = ({ style, ...provider }: ChatProvider): Provider => ({
  ...provider,
  protocol: "chat",
  events: (asked, answer, { issued }) =>
    chatEvents(style, asked, answer, () => {
      const value = answer.mark()
      issued.set(value, answer.thought)
      return value
    })
})
