/** The parts of the server that `pohf keys` uses. Imported file by file: the command loads no HTTP or SQL code. */
export { readSignerConfig } from '../platform/ops/config.ts'
export { statementKeyOf } from '../signing/manifest/key-pair.ts'
export { admitOffline, describeRequest } from '../signing/manifest/offline.ts'
export { connectOperatorSocket } from '../signing/transport/operator-client.ts'
