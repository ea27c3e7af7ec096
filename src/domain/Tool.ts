/** The tools that the service can run by itself. Source: specification, Tools. */
export const toolNames = ["calculator", "current_datetime", "web_fetch", "web_search"] as const
export type ToolName = (typeof toolNames)[number]
