/** The methods that a path of the contract may have; HEAD comes with GET, and TRACE is not supported. */
export const methods = ['get', 'put', 'post', 'delete', 'patch', 'options'] as const
