import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createFile, readFileIfThere } from '../folder/atomic-file.ts'
import { generateStatementKey, statementKeyOf, type StatementKey } from './key-pair.ts'
import type { ManifestFiles } from './files.ts'

const pathOf = (folder: string) => join(folder, 'admission.json')

const readAdmissionKey = (folder: string): StatementKey | undefined => {
  const text = readFileIfThere(pathOf(folder))
  return text === undefined ? undefined : statementKeyOf(JSON.parse(text))
}

/**
 * The admission key in the key folder. A signer that is told no admission key and has none makes one: it is the first
 * signer of its deployment. Its private half leaves the folder by `export` and `forget`.
 */
export const openAdmissionKey = (folder: string, manifests: ManifestFiles) => {
  let key = readAdmissionKey(folder)
  if (manifests.admission() === undefined) {
    key ??= generateStatementKey()
    createFile(pathOf(folder), JSON.stringify(key.jwk))
    manifests.pin(key.kid)
  }
  if (key && key.kid !== manifests.admission())
    throw new Error(
      `${pathOf(folder)} holds admission key ${key.kid}, but this signer belongs to the deployment of ${manifests.admission()}. Remove that file, or restore the key folder as a whole.`,
    )
  return {
    /** Undefined while the private half is kept elsewhere. */
    key: () => key,
    forget: (): void => {
      rmSync(pathOf(folder), { force: true })
      key = undefined
    },
    import: (jwk: unknown): string => {
      const given = statementKeyOf(jwk)
      if (given.kid !== manifests.admission())
        throw new Error(`admission key ${given.kid} is not that of this deployment, ${manifests.admission()}`)
      createFile(pathOf(folder), JSON.stringify(given.jwk))
      key = given
      return given.kid
    },
  }
}
