import { ApiResponse, type Person } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { ImageRefused, imageMediaType } from '../../platform/net/images.ts'
import type { WorkerDeps } from '../deps.ts'
import { requireOwnAssignment } from './assignment.ts'
import { readInputAddress } from './input-address.ts'

type Input = { readonly assignmentId: string; readonly field: string }

async function* onePiece(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

/** An image of the buyer, from our own origin: the buyer's server never sees the worker's browser. */
export const workerImage = async ({ ctx, loadImage }: WorkerDeps, { personId }: Person, input: Input) => {
  const address = await inTransaction(ctx, 'system', async (tx) => {
    const assignment = await requireOwnAssignment(tx, personId, input.assignmentId)
    return readInputAddress(tx, assignment, { field: input.field, type: 'image' })
  })
  if (address === undefined) throw new Refusal('not_found', { message: 'This unit has no such image.' })
  const bytes = await loadImage(address).catch((error: unknown) => {
    if (!(error instanceof ImageRefused)) throw error
    const { fault } = error
    throw new Refusal('image_unavailable', {
      details: [{ path: 'path.field', code: fault, message: 'the image of the buyer cannot be shown' }],
    })
  })
  return new ApiResponse(undefined, {
    stream: { mediaType: imageMediaType, pieces: onePiece(bytes) },
    headers: {
      'cache-control': 'private, max-age=3600',
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'same-origin',
    },
  })
}
