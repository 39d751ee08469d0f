/** An `import` of `node:http` reads its export `WebSocket` too, and so loads all of `fetch`: 50 ms of CPU. */
export const http = process.getBuiltinModule('node:http')
