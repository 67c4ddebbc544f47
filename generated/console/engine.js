import"./shared-7.js";import{g as a,h as b,i as c,j as d}from"./shared-11.js";import"./shared-12.js";export{d as DetailPage,a as ListPage,c as Pages,b as goFrom};
