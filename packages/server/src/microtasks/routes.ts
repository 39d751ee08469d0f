import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { create, type CampaignDeps } from './campaigns/create.ts'
import { list } from './campaigns/list.ts'
import { read } from './campaigns/read.ts'
import { update } from './campaigns/update.ts'
import { visitor, type FindMemberState } from './campaigns/visitor.ts'
import { tasksComplete } from './complete.ts'
import type { CompletionDeps } from './completion.ts'
import { makePictureRenderer } from './items/pictures.ts'
import { tasksNext, type NextDeps } from './next.ts'

type MicrotaskDeps = CompletionDeps &
  Omit<NextDeps, 'renderPicture'> &
  Pick<CampaignDeps, 'isEmailConfirmed'> & { readonly findMemberState: FindMemberState }

export const routes = (ctx: Ctx, deps: MicrotaskDeps): Route[] => {
  const renderPicture = makePictureRenderer()
  return [
    route('microtasks.next', (call) => tasksNext(ctx, call.query, call.address, { ...deps, renderPicture })),
    route('microtasks.complete', (call) => tasksComplete(ctx, call.body, deps)),
    route('microtasks.campaigns.create', (call) =>
      create({ ctx, isEmailConfirmed: deps.isEmailConfirmed }, call.agent, call.body, call.storeResult),
    ),
    route('microtasks.campaigns.list', (call) => list(ctx, call.agent, call.query)),
    route('microtasks.campaigns.read', (call) => read(ctx, call.agent, call.params.campaignId, call.query)),
    route('microtasks.campaigns.update', (call) =>
      update(ctx, call.agent, call.params.campaignId, call.body.status),
    ),
    route('microtasks.campaigns.visitor', (call) =>
      visitor(ctx, call.agent, call.body.memberId, deps.findMemberState),
    ),
  ]
}
