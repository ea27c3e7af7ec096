import type { Answer } from "./Answer.ts"
import type { Asked, Protocol } from "./Asked.ts"
import { chatEvents, type ChatStyle, fullUsage } from "./ChatStream.ts"
import type { Failures, Refusal } from "./Refusal.ts"

/** The memory of a scripted server. */
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
  /** The name in the documentation. */
  readonly label: string
  readonly protocol: Protocol
  /** The header with the key; null where there is none. */
  readonly key: "authorization" | "api-key" | "x-api-key" | null
  readonly failures: Failures
  /** The server's refusal of a request; null if there is none. */
  readonly check: (asked: Asked, memory: Memory) => Refusal | null
  readonly events: (asked: Asked, answer: Answer, memory: Memory) => ReadonlyArray<string>
  /** Further fields of the provider and its model in the catalog. */
  readonly entry?: Readonly<Record<string, unknown>>
  readonly model: {
    readonly id: string
    readonly vision: boolean
    readonly structuredOutput?: boolean
  }
}

interface ChatProvider extends Pick<Provider, "name" | "label" | "failures" | "check"> {
  /** A token of the header `authorization` if left out. */
  readonly key?: Provider["key"]
  /** Differences from the usual style. */
  readonly style: Partial<ChatStyle>
  readonly dialect?: string
  readonly model: string
  readonly lacks?: ReadonlyArray<"vision" | "structuredOutput">
}

const usual: ChatStyle = {
  thoughts: "reasoning_content",
  calls: "pieces",
  refusal: "finish",
  usage: fullUsage,
  usageIn: "event"
}

/** A provider that speaks Chat Completions. */
export const chatProvider = (provider: ChatProvider): Provider => {
  const { dialect, key = "authorization", lacks = [], model, style, ...named } = provider
  return {
    ...named,
    key,
    protocol: "chat",
    entry: dialect === undefined ? {} : { dialect },
    model: {
      id: model,
      vision: !lacks.includes("vision"),
      ...(lacks.includes("structuredOutput") ? {} : { structuredOutput: true })
    },
    events: (asked, answer, { issued }) =>
      chatEvents({ ...usual, ...style }, asked, answer, () => {
        const value = answer.mark()
        issued.set(value, answer.thought)
        return value
      })
  }
}
