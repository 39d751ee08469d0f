import type { ComponentType } from 'preact'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { KnownBadPart } from './known-bad.tsx'
import { PartLinks, parts } from './parts.tsx'
import { PeoplePart } from './people.tsx'
import { ReportPart } from './report.tsx'
import { RequestsPart } from './requests.tsx'
import { SettingsPart } from './settings.tsx'
import { TypesPart } from './types.tsx'
import './approvals.css'

const views: Readonly<Record<(typeof parts)[number]['path'], ComponentType<PageProps>>> = {
  '': RequestsPart,
  report: ReportPart,
  types: TypesPart,
  people: PeoplePart,
  'known-bad': KnownBadPart,
  settings: SettingsPart,
}

/** Page "Approvals": what people were asked to approve, who may, and how attentive they were. */
export const ApprovalsPage = (props: PageProps) => {
  const current = parts.find(({ path }) => path === (props.rest[0] ?? ''))?.path ?? ''
  const View = views[current]
  return (
    <>
      <PartLinks current={current} />
      <View key={current} {...props} />
    </>
  )
}
