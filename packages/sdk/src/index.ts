export { createClient, type Client, type ClientSettings } from './client.ts'
export { PohfError } from './error.ts'
export { PohfUnreachable } from './send.ts'
