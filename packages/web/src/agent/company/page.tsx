import type { Api } from '../../shared/api/client.ts'
import { useAction } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ActionResult, ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { isOwner, OwnerOnly } from '../approvals/parts.tsx'
import type { CompanySignIns } from '../wire.ts'
import { CompanyCard } from './company-card.tsx'
import { CompanyForm } from './company-form.tsx'
import { companyFinding } from './messages.ts'

/** As many as the service takes. */
const companiesMax = 3

const Lead = () => (
  <>
    Approvers and members can sign in with their company before they act. A credential then says that your
    company vouches for one of its accounts. It does not say who the person is, and it is worth what its
    reader thinks of your company.
  </>
)

const OwnersPage = ({ api }: { api: Api }) => {
  const loaded = useQuery(() => api.call<CompanySignIns>('GET', '/api/agents/companies'), 'companies', 30_000)
  const action = useAction(loaded.refetch)
  const companies = loaded.value?.companies
  return (
    <>
      <PageHead name="Company sign-in" finding={companies && companyFinding(companies)}>
        <Lead />
      </PageHead>
      <ActionResult message={action.message} error={action.error} />
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {!companies && loaded.slow ? <Skeleton /> : null}
      {companies ? (
        <div class="endpoints">
          {companies.map((company) => (
            <CompanyCard key={company.issuerId} api={api} action={action} company={company} />
          ))}
          {companies.length < companiesMax ? <CompanyForm api={api} action={action} /> : null}
        </div>
      ) : null}
    </>
  )
}

/** Page "Company sign-in": the companies that vouch for people of this agent. */
export const CompanyPage = ({ api }: PageProps) =>
  isOwner(api) ? (
    <OwnersPage api={api} />
  ) : (
    <>
      <PageHead name="Company sign-in" finding={undefined}>
        <Lead />
      </PageHead>
      <OwnerOnly api={api} what="Company sign-in">
        {null}
      </OwnerOnly>
    </>
  )
