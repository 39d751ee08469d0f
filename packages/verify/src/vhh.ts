export { verifyEpoch, type EpochCheck, type EpochToVerify, type EpochVerification } from './vhh/epoch.ts'
export { inputsRootOf, readInputs, rowsMax, sortedInputs, type InputsDocument } from './vhh/inputs.ts'
export {
  currentMethod,
  methods,
  sufficiency,
  weightsOf,
  type IndexInputs,
  type IndexResult,
  type IndexRow,
} from './vhh/method.ts'
