/** Takes the ways to the network from the globals of a confined process, which never fetches anything. */
export const removeGlobals = (): void => {
  for (const name of ["fetch", "WebSocket", "EventSource", "XMLHttpRequest"]) {
    Reflect.deleteProperty(globalThis, name)
  }
}
