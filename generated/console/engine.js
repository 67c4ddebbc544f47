import"./shared-15.js";import{c as a,d as b,e as c,f as d}from"./shared-16.js";import"./shared-17.js";export{d as DetailPage,a as ListPage,c as Pages,b as goFrom};
