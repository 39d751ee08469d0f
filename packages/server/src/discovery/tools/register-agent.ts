import { z } from 'zod'
import { fieldsOf, resultFrom, type Tool } from './tool.ts'

export const registerAgent: Tool = {
  name: 'register_agent',
  title: 'Register an agent',
  description:
    'Makes an agent and returns its API key, which is shown once: store it as a secret. mode "test" is a free sandbox whose credentials are marked test. No key needed; each call makes a new agent.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  needs: ['agents.register'],
  output: 'agents.register',
  input: z.object(fieldsOf('agents.register', 'body', ['name', 'contactEmail', 'mode'])),
  run: async (call) => resultFrom(call, await call.dispatch('agents.register', { body: call.input })),
}
