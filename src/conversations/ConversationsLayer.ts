import { Effect, Layer } from "effect"
import { layerReleasing } from "../sql/SoleOwner.ts"
import { ClientConversations } from "./ClientConversations.ts"
import { Conversations } from "./Conversations.ts"
import { ListedConversations } from "./ListedConversations.ts"
import { endAllJobLeases, ResponseJobs } from "./ResponseJobs.ts"
import { StoredResponses } from "./StoredResponses.ts"
import { endAllLeases } from "./TurnLeases.ts"

/** Conversations, their turns and leases, and the background responses that are stored beside them. */
export const ConversationsLayer = Layer.mergeAll(
  Conversations.layer,
  StoredResponses.layer,
  ResponseJobs.layer,
  ClientConversations.layer,
  ListedConversations.layer
).pipe(Layer.provide(layerReleasing(Effect.all([endAllLeases, endAllJobLeases]))))
