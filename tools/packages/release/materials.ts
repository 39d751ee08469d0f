import { execFileSync } from 'node:child_process'
import { root } from '../catalogue.ts'

type Component = {
  readonly 'bom-ref': string
  readonly name: string
  readonly properties?: readonly { readonly name: string; readonly value: string }[]
}
type Dependency = { readonly ref: string; readonly dependsOn: readonly string[] }
export type Materials = {
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly Dependency[]
}

/** npm names a workspace by its folder. Its reference has the name and the version of the manifest. */
const named = (component: Component): Component => ({
  ...component,
  name: component['bom-ref'].slice(0, component['bom-ref'].lastIndexOf('@')),
})

const isForDevelopment = ({ properties = [] }: Component): boolean =>
  properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true')

/**
 * The bill of materials in CycloneDX: our packages and every library that is not for development alone. `--omit dev` of npm
 * also leaves out libraries of a workspace that another one needs for development, so they are told apart here.
 */
export const readMaterials = (): Materials => {
  const printed = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 67_108_864,
  })
  const materials = JSON.parse(printed) as Materials
  const components = materials.components.filter((component) => !isForDevelopment(component)).map(named)
  const component = named(materials.metadata.component)
  const refs = new Set([component, ...components].map((each) => each['bom-ref']))
  return {
    ...materials,
    metadata: { ...materials.metadata, component },
    components,
    dependencies: materials.dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) })),
  }
}
