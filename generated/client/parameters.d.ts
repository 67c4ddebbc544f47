// The runtime of the client (4c67643b722d3195), compiled from packages/client/ of the toolkit. Do not edit.
/** How a parameter is written. */
export interface ParameterStyle {
    in: 'path' | 'query' | 'header' | 'cookie';
    name: string;
    style: 'simple' | 'label' | 'matrix' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'cookie';
    explode: boolean;
    kind: 'primitive' | 'array' | 'object';
    /** Whether an array may also be one primitive value. */
    orPrimitive?: boolean;
    /** Whether the values of an array or an object may be any text, which may have delimiters. */
    isText?: boolean;
    /** Whether values of an array or an object may be objects, which are written as JSON. */
    hasObjects?: boolean;
    /** The properties of an object, and whether it may have others. */
    names?: string[];
    isOpen?: boolean;
    /** Whether the value is JSON: a parameter with `content`. */
    isJson?: boolean;
    allowReserved?: boolean;
    allowEmptyValue?: boolean;
}
/** The raw text of a request: nothing is percent-decoded. */
export interface RawParameters {
    /** By name. */
    path: Record<string, string>;
    /** Without the question mark. */
    query: string;
    /** By name in lower case. */
    headers: Record<string, string | string[] | undefined>;
}
export interface ReadParameters {
    path: Record<string, unknown>;
    /** Undeclared parameters included, as text or as a list of texts. */
    query: Record<string, unknown>;
    /** By name in lower case; only declared ones. */
    header: Record<string, unknown>;
    cookie: Record<string, unknown>;
    /** The parameters with `content` that are not JSON. */
    notJson: ParameterStyle[];
}
/**
 * The values are texts, lists of texts and objects of texts. A missing or malformed parameter has no value.
 */
export declare function readParameters(declared: ParameterStyle[], raw: RawParameters): ReadParameters;
/**
 * What a request has for a parameter: a part of the path, `name=value` of the query or of `Cookie`, or a
 * field.
 */
export declare function writeParameter(parameter: ParameterStyle, given: unknown): string;
/** Malformed escapes stay as they are. */
export declare function decoded(text: string, plus?: boolean): string;
